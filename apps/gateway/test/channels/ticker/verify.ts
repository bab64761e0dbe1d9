// Verifies the seal of a slip.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseJsonText, Rejection } from '@postern/message'
import type { TickerConfig } from './config.ts'
import type { SealedSlip, Slip } from './slip.ts'
import { slipSchema } from './slip.ts'

/** A slip with a valid seal, which only `verifySlip` creates. */
export interface ProvenSlip extends Slip {
  readonly agent: string
  readonly body: Uint8Array
  readonly provenAt: number
}

/** Checks the seal of a slip. @throws Rejection unsigned, signature_invalid, malformed */
export function verifySlip({ agent, body, seal }: SealedSlip, { secret = '' }: TickerConfig, now: number): ProvenSlip {
  if (seal === '') throw new Rejection('unsigned', 'Cannot take slip: it has no seal')
  const expected = createHmac('sha256', secret).update(body).digest('hex')
  const isGood = seal.length === expected.length && timingSafeEqual(Buffer.from(seal), Buffer.from(expected))
  if (secret === '' || !isGood) throw new Rejection('signature_invalid', 'Cannot take slip: its seal is not ours')
  const slip = slipSchema.safeParse(readJson(body)).data
  if (!slip) throw new Rejection('malformed', 'Cannot take slip: it needs "id", "from", "text" and "reply"')
  return { ...slip, agent, body, provenAt: now }
}

function readJson(body: Uint8Array): unknown {
  try {
    return parseJsonText(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}
