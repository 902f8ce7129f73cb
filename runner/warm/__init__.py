"""Python interpreters that have imported already, bound to one vaulted tool and policy, forking for each call."""
