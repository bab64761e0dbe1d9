/** The oldest Node that an installed gateway runs on, such as `22.18`. */
export const minimumNode: string
/** Whether a version of Node, by default this one, is at least `minimum`. */
export function isAtLeast(minimum: string, version?: string): boolean
