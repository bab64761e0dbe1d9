// The states of requirements, as filters of lists name them.
export const requirementStates = ['open', 'granted', 'declined', 'expired'] as const
