export const requirementStates = ['open', 'granted', 'declined', 'expired'] as const
export type RequirementState = (typeof requirementStates)[number]
