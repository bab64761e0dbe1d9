import { acceptsType, parseMediaType } from '@postern/http'

/** What 1.0.1 names, and what everything before it did. */
const offered = ['application/a2a+json', 'application/json'] as const

type RestType = (typeof offered)[number]

/** The type to answer in: what `Accept` prefers; else, as the client said nothing of it, what it sent. */
export function chooseRestType({ headers }: Request): RestType {
  const sent = parseMediaType(headers.get('content-type'))?.type
  const preferred = sent === 'application/json' ? offered.toReversed() : offered
  return (acceptsType(headers.get('accept'), preferred) ?? preferred[0]) as RestType
}
