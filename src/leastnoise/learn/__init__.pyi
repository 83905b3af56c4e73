from .covariance import EmpiricalCovariance as EmpiricalCovariance
from .linear import LinearRegression as LinearRegression
from .logistic import LogisticRegression as LogisticRegression
from .logistic import PrivacyWarning as PrivacyWarning
from .scaler import BoundedScaler as BoundedScaler
from .steps import StepAccountant as StepAccountant
from .steps import clip as clip
from .steps import noise_multiplier as noise_multiplier
