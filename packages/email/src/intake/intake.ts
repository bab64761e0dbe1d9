// Accepts mail from all endpoints: verifies, normalizes and stores it, and records refusals.

import { isoTime, Rejection } from '@postern/message'
import type { ChannelContext, Inbound, RefusalContext } from '@postern/pipeline'
import { createIntakeSteps, hasRefusal, receive, recordRefusal } from '@postern/pipeline'
import type { IncomingEnvelope, RawMail } from '../mail/raw-mail.ts'
import { findRecipient } from '../mail/recipients.ts'
import { describeClaims } from './claims.ts'

export type MailIntake = ReturnType<typeof createMailIntake>

/** Creates the intake that all mail endpoints share. */
export function createMailIntake<Proven>(inbound: Inbound<RawMail, Proven>, gateway: ChannelContext) {
  const { admission, store, system, agents } = gateway
  const toRawMail = (octets: Uint8Array, envelope: IncomingEnvelope): RawMail => ({
    octets: removeMboxLine(octets),
    envelope,
    receivedAt: isoTime(system.now()),
  })
  const addClaims = ({ claimed_sender: sender, agent, ...context }: RefusalContext): RefusalContext => ({
    ...context,
    ...describeClaims({ sender, recipients: agent?.split(', ') ?? [] }, agents),
  })
  const createReception = (context: RefusalContext) => ({
    ...{ admission, store, system, steps: createIntakeSteps(system) },
    ...addClaims(context),
  })
  const recordRefusalOnce = (error: unknown, context: RefusalContext) => {
    if (!context.request || !hasRefusal(context.request))
      recordRefusal(error, inbound.name, { store, system, ...addClaims(context) })
  }
  return {
    /**
     * Accepts a mail for all its recipients. It resolves once the mail is durable. If a server forwards mail for other
     * servers, the envelope names the client.
     * @throws Rejection, Unavailable
     */
    accept: (octets: Uint8Array, envelope: IncomingEnvelope, context: RefusalContext) =>
      receive(inbound, toRawMail(octets, envelope), createReception({ ...context, from: envelope.ip ?? context.from })),
    /**
     * Accepts a mail like `accept`, with an outcome for each recipient of the envelope. The sender is judged only once.
     */
    acceptEach(octets: Uint8Array, envelope: IncomingEnvelope, context: RefusalContext) {
      const raw = toRawMail(octets, envelope)
      const reception = createReception(context)
      const proof = inbound.verify(raw, reception.steps)
      return Promise.allSettled(
        envelope.to.map(address => receive(narrowInbound(inbound, proof, findAgent(address)), raw, reception)),
      )
    },
    /**
     * Refuses an address that belongs to no local agent.
     * @throws Rejection `no_recipient`
     */
    checkRecipient(address: string, context: RefusalContext): void {
      if (findAgent(address)) return
      const rejection = new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
      recordRefusalOnce(rejection, { ...context, agent: address })
      throw rejection
    },
    /** Records the refusal of a request whose message was not read, unless the refusal is already recorded. */
    recordRefusal: recordRefusalOnce,
  }

  function findAgent(address: string): string | undefined {
    return findRecipient(address, agents)?.agent
  }
}

/**
 * Removes the line of the mbox format (RFC 4155) that mail servers write before a message when they pipe it to a
 * program.
 */
function removeMboxLine(octets: Uint8Array): Uint8Array {
  const start = Buffer.from(octets.buffer, octets.byteOffset, Math.min(octets.length, 1024)).toString('latin1')
  const line = /^From [^\s:][^\r\n]*\r?\n/.exec(start)?.[0]
  return line ? octets.subarray(line.length) : octets
}

/** Returns the inbound side for one agent only, with a proof that has already started. */
function narrowInbound<Proven>(
  inbound: Inbound<RawMail, Proven>,
  proof: Promise<Proven>,
  agent: string | undefined,
): Inbound<RawMail, Proven> {
  return {
    name: inbound.name,
    verify: () => proof,
    normalize: mail => inbound.normalize(mail).filter(intake => intake.agent === agent),
  }
}
