import type { Admitted, ChannelContext, Inbound, RefusalPlace } from '@postern/core'
import { createIntakeSteps, hasRefusal, isoTime, Rejection, receive, recordRefusal } from '@postern/core'
import { nameClaims } from '../addresses/claims.ts'
import { findRecipient } from '../addresses/recipients.ts'
import type { MailEnvelopeIn, RawMail } from '../mail/raw.ts'
import type { ProvenMail } from '../proven/mail.ts'

/** The work that every mail endpoint does with a message. */
export interface MailIntake {
  /** Durable for every recipient when it resolves. @throws Rejection, Unavailable */
  take(octets: Uint8Array, envelope: MailEnvelopeIn, place: RefusalPlace): Promise<readonly Admitted[]>
  /** The same, with an outcome for each recipient of the envelope; the sender is judged once. */
  takeEach(
    octets: Uint8Array,
    envelope: MailEnvelopeIn,
    place: RefusalPlace,
  ): Promise<readonly PromiseSettledResult<readonly Admitted[]>[]>
  /** @throws Rejection `no_recipient` */
  checkRecipient(address: string, place: RefusalPlace): void
  /** Remembers a refusal made before a message was read, unless it is remembered already. */
  recordRefusal(error: unknown, place: RefusalPlace): void
}

export function createMailIntake(inbound: Inbound<RawMail, ProvenMail>, gateway: ChannelContext): MailIntake {
  const { admission, store, platform, agents } = gateway
  const rawOf = (octets: Uint8Array, envelope: MailEnvelopeIn): RawMail => ({
    octets: withoutMboxLine(octets),
    envelope,
    receivedAt: isoTime(platform.now()),
  })
  const nameThose = ({ claimed_sender: sender, agent, ...place }: RefusalPlace): RefusalPlace => ({
    ...place,
    ...nameClaims({ sender, recipients: agent?.split(', ') ?? [] }, agents),
  })
  const receptionOf = (place: RefusalPlace) => {
    return { admission, store, platform, steps: createIntakeSteps(platform), ...nameThose(place) }
  }
  const record = (error: unknown, place: RefusalPlace) => {
    if (!place.request || !hasRefusal(place.request))
      recordRefusal(error, inbound.name, { store, platform, ...nameThose(place) })
  }
  return {
    // A server that forwards mail for others declares whose it is.
    take: (octets, envelope, place) =>
      receive(inbound, rawOf(octets, envelope), receptionOf({ ...place, from: envelope.ip ?? place.from })),
    takeEach(octets, envelope, place) {
      const raw = rawOf(octets, envelope)
      const reception = receptionOf(place)
      const proven = inbound.verify(raw, reception.steps)
      return Promise.allSettled(
        envelope.to.map(address => receive(narrowInbound(inbound, proven, findAgent(address)), raw, reception)),
      )
    },
    checkRecipient(address, place) {
      if (findAgent(address)) return
      const rejection = new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
      record(rejection, { ...place, agent: address })
      throw rejection
    },
    recordRefusal: record,
  }

  function findAgent(address: string): string | undefined {
    return findRecipient(address, agents)?.agent
  }
}

/** Pipes of mail servers put a line of the mbox format before the message (RFC 4155); it is none of it. */
function withoutMboxLine(octets: Uint8Array): Uint8Array {
  const start = Buffer.from(octets.buffer, octets.byteOffset, Math.min(octets.length, 1024)).toString('latin1')
  const line = /^From [^\s:][^\r\n]*\r?\n/.exec(start)?.[0]
  return line ? octets.subarray(line.length) : octets
}

/** The same endpoint for one agent only, with a proof already under way. */
function narrowInbound(
  inbound: Inbound<RawMail, ProvenMail>,
  proven: Promise<ProvenMail>,
  agent: string | undefined,
): Inbound<RawMail, ProvenMail> {
  return {
    name: inbound.name,
    verify: () => proven,
    normalize: mail => inbound.normalize(mail).filter(intake => intake.agent === agent),
  }
}
