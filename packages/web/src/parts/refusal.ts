import type { NormalizedResponse, Part, RefusalKind } from '@postern/core'
import { plainTextOf, policiesOf, refusalKinds } from '@postern/core'

/** Why an agent refuses to answer. The run's error and the message in the history contain it. */
export interface ShownRefusal {
  readonly kind: RefusalKind
  readonly title: string
  readonly retry_after_seconds?: number | undefined
}

/** What a page may show above the message, if the agent names nothing. */
const titles: Readonly<Record<RefusalKind, string>> = {
  forbidden: 'Forbidden',
  too_many_requests: 'Too many requests',
  unavailable_for_legal_reasons: 'Unavailable for legal reasons',
  service_unavailable: 'Service unavailable',
}

/** The first refusal in an answer; undefined when there is none. */
export function findRefusal(parts: readonly Part[]): (ShownRefusal & { readonly message: string }) | undefined {
  for (const { kind: named, title, message, retry_after_seconds } of policiesOf(parts)) {
    const kind = refusalKinds.find(known => known === named)
    if (kind)
      return {
        kind,
        title: title ?? titles[kind],
        message,
        ...(retry_after_seconds !== undefined && { retry_after_seconds }),
      }
  }
  return undefined
}

/** How a run ends whose answer is a refusal. */
export function describeRefusal({ parts }: Pick<NormalizedResponse, 'parts'>): {
  readonly message: string
  readonly code: string
  readonly details?: ShownRefusal
} {
  const found = findRefusal(parts)
  if (!found) return { message: plainTextOf(parts) || 'The agent refused', code: 'rejected' }
  const { message, ...details } = found
  return { message, code: details.kind, details }
}
