import type { House } from '@postern/core'
import { composeMail } from './compose.ts'
import type { DkimSigner } from './dkim-sign.ts'
import type { MailWire } from './render.ts'

export interface MailDelivering {
  readonly house: Pick<House, 'desk' | 'world'>
  readonly signer: DkimSigner
}

/**
 * Encodes, signs and hands over to the smarthost. Sent means: it took the mail.
 * @throws Unavailable, Undeliverable
 */
export async function deliverMail(
  wire: MailWire,
  { house, signer }: MailDelivering,
): Promise<{ readonly note: string }> {
  const message = await composeMail(wire, house.desk)
  const signed = await signer.sign(message, wire.date)
  const { response } = await house.world.submitMail(wire.envelope, signed)
  return { note: response }
}
