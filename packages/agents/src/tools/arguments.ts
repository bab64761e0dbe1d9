import { z } from 'zod'

/** Describes what is wrong with arguments; undefined when nothing is. */
export type FindArgumentFault = (args: unknown) => string | undefined

/**
 * Arguments are an object, whatever the schema says. No member may have the name `__proto__`, because copying it changes the prototype.
 * @throws Error for an invalid JSON Schema
 */
export function createArgumentCheck(parameters: { readonly [keyword: string]: unknown }): FindArgumentFault {
  const whole = { type: 'object', ...parameters } as Parameters<typeof z.fromJSONSchema>[0]
  const schema = z.fromJSONSchema(whole)
  return args => {
    if (hasPrototype(args)) return '__proto__: no argument may be called so'
    const [issue] = schema.safeParse(args).error?.issues ?? []
    return issue && `${issue.path.join('.') || 'arguments'}: ${issue.message}`
  }
}

/** Without recursion, because the depth has no limit. */
function hasPrototype(args: unknown): boolean {
  const waiting: unknown[] = [args]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(value, '__proto__')) return true
    for (const member of Object.values(value)) waiting.push(member)
  }
  return false
}
