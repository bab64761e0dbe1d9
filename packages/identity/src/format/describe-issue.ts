import type { z } from 'zod'

/** Where it is wrong, without a word of it. */
export function describeIssue({ issues: [issue] }: z.ZodError): string {
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 60)
  return path === '' ? 'it is not whole' : `its member ${path} is not as it must be`
}
