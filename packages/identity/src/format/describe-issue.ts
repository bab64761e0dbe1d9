import type { z } from 'zod'

/** The place of the fault, without its content. */
export function describeIssue({ issues: [issue] }: z.ZodError): string {
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 60)
  return path === '' ? 'it is not whole' : `its member ${path} is not as it must be`
}
