// Replays stored mail: verifies and normalizes it again.

import { isoTime } from '@postern/message'
import type { ChannelDiagnostics, Inbound, ReplayConditions } from '@postern/pipeline'
import { createIntakeSteps } from '@postern/pipeline'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { restoreEnvelope } from './intake/envelope-record.ts'
import type { RawMail } from './mail/raw-mail.ts'

/** Creates the function that reads a stored mail again, with its original envelope. */
export function createMailReplay(
  openInbound: (conditions: ReplayConditions) => Inbound<RawMail, ProvenMail>,
): NonNullable<ChannelDiagnostics['replay']> {
  return async ({ agent, arrival, raw }, conditions) => {
    const envelope = restoreEnvelope(arrival)
    if (!envelope) return undefined
    const inbound = openInbound(conditions)
    const receivedAt = isoTime(conditions.system.now())
    const provenMail = await inbound.verify(
      { octets: raw, ...envelope, receivedAt },
      createIntakeSteps(conditions.system),
    )
    return inbound.normalize(provenMail).find(intake => intake.agent === agent)
  }
}
