/** The oldest Node that a gateway runs on, such as `24.11`. */
export const minimumNode: string
/** Flags of Node that a gateway serves with. */
export const nodeFlags: readonly string[]
/** Whether a version of Node, by default this one, is at least `minimum`. */
export function isAtLeast(minimum: string, version?: string): boolean
