import { expect } from 'vitest'
import type { Explanation, WhyAnswer } from '../../src/why/explanation.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually } from '../setup/gateway.ts'

export function askWhy(gateway: Pick<TestGateway, 'ask'>, asked: string): Promise<WhyAnswer> {
  return gateway.ask<WhyAnswer>(`/why/${encodeURIComponent(asked)}`)
}

/** The best explanation, once it has this code. A wrong code that stays is shown. */
export async function awaitReason(
  gateway: Pick<TestGateway, 'ask'>,
  asked: string,
  code: string,
): Promise<Explanation> {
  let last: Explanation | undefined
  const found = await eventually(async () => {
    last = (await askWhy(gateway, asked)).explanations[0]
    return last?.code === code && last
  }, 20_000).catch(() => last)
  expect(found).toMatchObject({ code })
  return found as Explanation
}

/** Every explanation is one line without a stop, and its times are times. */
export function expectWellFormed({ sentence, since, evidence }: Explanation): void {
  expect(sentence).not.toMatch(/[\n\r]|undefined|NaN|\[object|Invalid/)
  expect(sentence.endsWith('.')).toBe(false)
  for (const at of [since, ...evidence.flatMap(each => each.at ?? [])]) expect(Date.parse(at)).toBeGreaterThan(0)
}

/** All facts, a line each. */
export const factsOf = ({ evidence }: Explanation): string => evidence.map(({ fact }) => fact).join('\n')
