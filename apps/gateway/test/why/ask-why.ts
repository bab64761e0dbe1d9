// Asks a gateway why a message ended as it did.
import type { Explanation, WhyAnswer } from '@postern/operator'
import { expect } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually } from '../setup/gateway.ts'

export function askWhy(gateway: Pick<TestGateway, 'requestOperator'>, query: string): Promise<WhyAnswer> {
  return gateway.requestOperator<WhyAnswer>(`/why/${encodeURIComponent(query)}`)
}

/** Returns the best explanation once it has this code. On failure, the test shows the code that stayed wrong. */
export async function awaitReason(
  gateway: Pick<TestGateway, 'requestOperator'>,
  query: string,
  code: string,
): Promise<Explanation> {
  let lastExplanation: Explanation | undefined
  const reason = await eventually(async () => {
    lastExplanation = (await askWhy(gateway, query)).explanations[0]
    return lastExplanation?.code === code && lastExplanation
  }, 20_000).catch(() => lastExplanation)
  expect(reason).toMatchObject({ code })
  return reason as Explanation
}

/** Expects an explanation of one line without a full stop, and valid times. */
export function expectWellFormed({ sentence, since, evidence }: Explanation): void {
  expect(sentence).not.toMatch(/[\n\r]|undefined|NaN|\[object|Invalid/)
  expect(sentence.endsWith('.')).toBe(false)
  for (const instant of [since, ...evidence.flatMap(fact => fact.at ?? [])])
    expect(Date.parse(instant)).toBeGreaterThan(0)
}

/** Returns all facts, one per line. */
export const listFacts = ({ evidence }: Explanation): string => evidence.map(({ fact }) => fact).join('\n')
