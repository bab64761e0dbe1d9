// The states of messages and deliveries, as filters of lists name them.
export const messageStates = ['received', 'working', 'answered', 'failed', 'ignored'] as const
export const deliveryStates = ['queued', 'sent', 'later', 'dead', 'dismissed'] as const
