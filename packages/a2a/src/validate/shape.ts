import type { FieldViolation } from '@postern/core'
import { isJsonObject } from '@postern/core'

/**
 * A compiled check. `undefined` when the value is valid; else the faults, with fields relative to the value, so that valid messages cost no
 * paths.
 */
export type ValueCheck = (value: unknown) => readonly FieldViolation[] | undefined

/** A member of an object. ProtoJSON reads `null` as absent (`Value` excepted). */
export interface Member {
  readonly check: ValueCheck
  readonly isRequired: boolean
}

/** Enough faults to fix a request. Ten thousand bad parts do not cause ten thousand lines. */
const maxViolations = 16

/** The fault of the value itself. */
export function violate(description: string, field = ''): readonly FieldViolation[] {
  return [{ field, description }]
}

export function required(check: ValueCheck): Member {
  return { check, isRequired: true }
}

export function optional(check: ValueCheck): Member {
  return { check, isRequired: false }
}

/** An object with these members; it ignores others (A2A §5.7). */
export function shapeOf(members: Readonly<Record<string, Member>>, extra?: ValueCheck): ValueCheck {
  const rows = Object.entries(members)
  return value => {
    if (!isJsonObject(value)) return violate('must be an object')
    let found: FieldViolation[] | undefined
    for (const [name, member] of rows) {
      const violations = checkMember(value[name], member)
      if (violations) found = gather(found, name, violations)
    }
    return found ?? extra?.(value)
  }
}

function checkMember(value: unknown, { check, isRequired }: Member): readonly FieldViolation[] | undefined {
  if (value === undefined || value === null) return isRequired ? violate('is required') : undefined
  return check(value)
}

export function arrayOf(
  item: ValueCheck,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): ValueCheck {
  return value => {
    if (!Array.isArray(value)) return violate('must be an array')
    if (value.length < min) return violate(`must hold at least ${min}`)
    if (value.length > max) return violate(`must hold at most ${max}`)
    let found: FieldViolation[] | undefined
    for (let at = 0; at < value.length; at += 1) {
      const violations = item(value[at])
      if (violations) found = gather(found, `[${at}]`, violations)
    }
    return found
  }
}

function gather(found: FieldViolation[] = [], name: string, violations: readonly FieldViolation[]): FieldViolation[] {
  for (const { field, description } of violations) {
    if (found.length < maxViolations) found.push({ field: joinField(name, field), description })
  }
  return found
}

function joinField(name: string, field: string): string {
  return field === '' || field.startsWith('[') ? name + field : `${name}.${field}`
}
