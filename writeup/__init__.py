"""Renders recorded measurements as pages whose every number can be followed back."""
