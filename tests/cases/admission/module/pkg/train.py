from .args import parser
from . import nothing
