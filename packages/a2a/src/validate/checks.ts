// Creates the schemas of wire values, and lists the invalid members of a value.
import type { FieldViolation } from '@postern/message'
import { isJsonObject } from '@postern/message'
import { z } from 'zod'

/** The most violations in one list, so that ten thousand invalid parts do not cause ten thousand lines. */
const maxViolations = 16

/** Finds the members of a value that do not fit its schema. The list is empty for a valid value. */
export function findWrongMembers(schema: z.ZodType, value: unknown): readonly FieldViolation[] {
  const { error } = schema.safeParse(value, { reportInput: true })
  return error ? error.issues.slice(0, maxViolations).map(describeIssue) : []
}

function describeIssue({ path, input, message }: z.core.$ZodIssue): FieldViolation {
  const isMissing = (input === undefined || input === null) && typeof path.at(-1) === 'string'
  return { field: formatPath(path), description: isMissing ? 'is required' : message }
}

function formatPath(path: readonly PropertyKey[]): string {
  const steps = path.map(step => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
  return steps.join('').replace(/^\./, '')
}

/** Makes a member optional. ProtoJSON reads `null` as absent (`Value` excepted). */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish()
}

/** Checks an object with these members, and ignores others (A2A §5.7). */
export function shapeOf<Shape extends z.ZodRawShape>(members: Shape) {
  return z.object(members, 'must be an object')
}

/** Creates the options of a rule. Its violation ends the checks of the value, so that each member has one violation. */
export function must(requirement: string) {
  return { error: `must ${requirement}`, abort: true } as const
}

/** Checks the length of a list, then its items until the list of violations is full. */
export function arrayOf<Item extends z.ZodType>(
  item: Item,
  { min = 0, max }: { readonly min?: number; readonly max: number },
) {
  return z
    .custom<readonly z.output<Item>[]>(Array.isArray, must('be an array'))
    .refine(items => items.length >= min, must(`hold at least ${min}`))
    .refine(items => items.length <= max, must(`hold at most ${max}`))
    .check(({ value, issues }) => {
      for (let index = 0; index < value.length && issues.length < maxViolations; index += 1) {
        const { error } = item.safeParse(value[index], { reportInput: true })
        for (const { path, input, message } of error?.issues ?? []) {
          issues.push({ code: 'custom', path: [index, ...path], input, message })
        }
      }
    })
}

const maxInt32 = 2 ** 31 - 1

export function oneOf<const Value extends string>(values: readonly Value[]) {
  return z.literal(values, `must be one of ${values.join(', ')}`)
}

export function integer({ min = 0, max = maxInt32 }: { readonly min?: number; readonly max?: number } = {}) {
  const requirement = `must be an integer from ${min} to ${max}`
  return z.int(requirement).min(min, requirement).max(max, requirement)
}

export const boolean = z.boolean('must be true or false')

export const object = z.custom<Readonly<Record<string, unknown>>>(isJsonObject, 'must be an object')

/** Checks a member. The zero value of its type counts as absent, which is the rule of proto3. */
export function zeroOr<Schema extends z.ZodType>(zeros: readonly unknown[], schema: Schema) {
  return z.preprocess(value => (zeros.includes(value) ? undefined : value), schema.optional())
}
