import { z } from 'zod'

/** Says what is wrong with arguments; undefined when nothing is. */
export type FindArgumentFault = (args: unknown) => string | undefined

/**
 * Arguments are an object, whether the schema says so or not. No member of them is called `__proto__`: whoever copies it on changes more than
 * a member. @throws Error for what is no JSON Schema that can be checked
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

/** As deep as it may be: without recursion. */
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
