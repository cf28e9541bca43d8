"""Click-through rates: train a model of P(click), fast and honestly.

One impression is a handful of ids (who, which ad, which campaign, on what, where) and a few numbers. Embedding rows are
gathered by id, which is `x[indices[j]]` again; a small dense network makes of them the logit of a click. The clicks of
the log made here are drawn from a probability that is kept, so the best possible logloss and AUC are known.

Source: the modules name theirs.
"""

# Which room is which, each using those above it alone:
#
# errors                     CtrError
# extras                     packages that only this lab needs
# threads                    work in several threads, with the results in order
# schema                     which ids and numbers an impression has
# guards                     what is wrong with ids, features, labels, losses and clocks, in a sentence
# storage/                   click logs on disk: memory-mapped columns, Parquet
# cold                       ids that training never had
# world/                     the log generator: its world, shards, history, and the truth it keeps apart
# readers/                   click logs of others: Criteo, Avazu, MovieLens; ids from their vocabularies
# metrics/                   how good predictions are, and how good they could be
# model/                     embedding table, network, optimizers
# baselines/                 what a model must beat, in order
# training/                  one loop: early stopping, checkpoints, logs
# export                     the trained model for inference, and its parity test
# kernels.py, kernels.cu     gather and row-wise update, in numba and in CUDA C++
# family                     the kernels as a family of gpukit's commands
# fast/                      the training step on a GPU, one switch after the other
# sharding/                  several processes: data parallel network, row-wise sharded table
# figures                    what training and metrics look like
# experiment                 baselines and the model trained, judged, and written down
# bench/                     `gpukit bench ctr`: the ladder of speed
# showing                    what a run says in a terminal
# command                    `gpukit ctr`
# __main__                   the same as a script, for torchrun

FAMILY = "family:FAMILY"
BENCH = "bench.command:bench"
COMMANDS = {"ctr": "command:ctr"}
