"""What chapters use of losses, pairwise importances and activations.

InfoNCE stands in the house in twelve forms, since each paper has other negatives, another norm and another factor, and
what a theorem says depends on them. Negatives are the first views, the second views or both of the other pairs of a
batch, or separate draws; they count with K times their mean, or with their sum. 2 sides: the loss with the views
exchanged is added. Distances are halved squares, all others products of outputs with this norm.

| function               | negatives         | norm, scale  | value      | gradient         | room                     |
| ---------------------- | ----------------- | ------------ | ---------- | ---------------- | ------------------------ |
| infonce_loss           | first             | distances, τ | τ·sum      | autograd         | losses                   |
| infonce                | first             | distances, τ | mean       | closed, α held   | losses, `named_losses`   |
| infonce_pull           | first             | unit, τ      | mean       | closed           | compiled                 |
| infonce_of_views       | second or anchors | none, τ      | mean       | `infonce_matrix` | collapse_and_constraints |
| population_loss        | all, K times      | mean, τ²     | 2 sides    | `force`          | alignment_and_balance    |
| batch_force            | separate, K times | mean, τ²     | 2 sides/τ² | itself           | alignment_and_balance    |
| pair_losses            | second, K times   | given, τ²    | 2 sides/τ² | autograd         | alignment_and_balance    |
| contrastive_loss_value | separate          | none, τ      | τ·mean     | closed           | feature_decoupling       |
| weigh_negatives        | separate          | none, τ      | τ·mean     | closed           | compiled                 |
| nt_xent                | both              | unit, τ      | mean of 2N | autograd         | feature_decoupling       |
| infonce_of_batch       | second, e^c each  | given        | 1, 2 sides | closed           | testbed                  |
| InfoNCE                | second, separate  | any, τ²      | any        | of the above     | testbed, `losses`        |

`infonce_loss` weighs the positive in the denominator by ε, 0 by default; the two below it have ε = 1. In the gradient
of `contrastive_loss_value` and `weigh_negatives` the second argument of each product is held fixed. `pair_losses` and
`infonce_of_batch` are one function of two matrices and stay two: on random batches half of their values and all of
their gradients differ in the last bits, and stored runs hold both. `nt_xent` is another function: its denominator has
both views of every other pair. `tests/testbed/test_agreement_with_exact_paths.py` tests which forms agree up to which
factor.

By name a run chooses from `named_losses.LOSSES`, importances for the gradient of a network of fields, or from `LOSSES`
of the experiments of One testbed, losses of two outputs at an inverse temperature. Both have an "infonce", the second
and the last of the table; they share no member.
"""

from .activations import ACTIVATIONS, TRAINED, Activation, activation
from .contrastive_covariance import (
    contrastive_covariance,
    contrastive_energy,
    gated_contrastive_covariance,
    kernel_contrastive_covariance,
    one_layer_velocity,
    uniform_contrastive_covariance,
)
from .gated_covariance import gate, gated_field, project_out
from .pairwise_importance import (
    gaussian_features,
    gaussian_importance,
    half_squared_distances,
    infonce_importance,
    infonce_loss,
    uniform_importance,
)

__all__ = [
    "ACTIVATIONS",
    "TRAINED",
    "Activation",
    "activation",
    "contrastive_covariance",
    "contrastive_energy",
    "gate",
    "gated_contrastive_covariance",
    "gated_field",
    "gaussian_features",
    "gaussian_importance",
    "half_squared_distances",
    "infonce_importance",
    "infonce_loss",
    "kernel_contrastive_covariance",
    "one_layer_velocity",
    "project_out",
    "uniform_contrastive_covariance",
    "uniform_importance",
]
