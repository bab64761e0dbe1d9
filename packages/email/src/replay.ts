import type { Channel, Inbound, ReplayMoment } from '@postern/core'
import { createIntakeSteps, isoTime } from '@postern/core'
import { restoreEnvelope } from './mail/envelope-record.ts'
import type { RawMail } from './mail/raw.ts'
import type { ProvenMail } from './proven/mail.ts'

/** Reads a stored mail again, with the envelope that it came in. */
export function createMailReplay(
  openInbound: (moment: ReplayMoment) => Inbound<RawMail, ProvenMail>,
): NonNullable<Channel['replay']> {
  return async ({ agent, arrival, raw }, moment) => {
    const kept = restoreEnvelope(arrival)
    if (!kept) return undefined
    const inbound = openInbound(moment)
    const receivedAt = isoTime(moment.platform.now())
    const proven = await inbound.verify({ octets: raw, ...kept, receivedAt }, createIntakeSteps(moment.platform))
    return inbound.normalize(proven).find(intake => intake.agent === agent)
  }
}
