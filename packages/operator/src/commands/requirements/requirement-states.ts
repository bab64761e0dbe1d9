// The states by which the list of requirements can be filtered.
export const requirementStates = ['open', 'granted', 'declined', 'expired'] as const
