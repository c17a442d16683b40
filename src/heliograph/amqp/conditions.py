"""The names that the standard gives to what can go wrong."""

from typing import Final

INTERNAL_ERROR: Final = "amqp:internal-error"
NOT_FOUND: Final = "amqp:not-found"
UNAUTHORIZED_ACCESS: Final = "amqp:unauthorized-access"
DECODE_ERROR: Final = "amqp:decode-error"
RESOURCE_LIMIT_EXCEEDED: Final = "amqp:resource-limit-exceeded"
NOT_ALLOWED: Final = "amqp:not-allowed"
INVALID_FIELD: Final = "amqp:invalid-field"
NOT_IMPLEMENTED: Final = "amqp:not-implemented"
RESOURCE_LOCKED: Final = "amqp:resource-locked"
PRECONDITION_FAILED: Final = "amqp:precondition-failed"
RESOURCE_DELETED: Final = "amqp:resource-deleted"
ILLEGAL_STATE: Final = "amqp:illegal-state"
FRAME_SIZE_TOO_SMALL: Final = "amqp:frame-size-too-small"

CONNECTION_FORCED: Final = "amqp:connection:forced"
CONNECTION_FRAMING_ERROR: Final = "amqp:connection:framing-error"
CONNECTION_REDIRECT: Final = "amqp:connection:redirect"

SESSION_WINDOW_VIOLATION: Final = "amqp:session:window-violation"
SESSION_ERRANT_LINK: Final = "amqp:session:errant-link"
SESSION_HANDLE_IN_USE: Final = "amqp:session:handle-in-use"
SESSION_UNATTACHED_HANDLE: Final = "amqp:session:unattached-handle"

LINK_DETACH_FORCED: Final = "amqp:link:detach-forced"
LINK_TRANSFER_LIMIT_EXCEEDED: Final = "amqp:link:transfer-limit-exceeded"
LINK_MESSAGE_SIZE_EXCEEDED: Final = "amqp:link:message-size-exceeded"
LINK_REDIRECT: Final = "amqp:link:redirect"
LINK_STOLEN: Final = "amqp:link:stolen"

TRANSACTION_UNKNOWN_ID: Final = "amqp:transaction:unknown-id"
TRANSACTION_ROLLBACK: Final = "amqp:transaction:rollback"
TRANSACTION_TIMEOUT: Final = "amqp:transaction:timeout"
