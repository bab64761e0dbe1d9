import type { RejectionCode } from '@postern/message'
import type { ComposedMail } from '@postern/simulation'
import type { ProtocolDelivery, ProtocolDriver } from '@postern/testing'
import { protocolContract } from '@postern/testing'
import { emailDescriptor } from '../../src/speaker.ts'
import { mailDomain, mailIntakeSecret, openMailGateway } from '../setup/gateway.ts'

/**
 * Mail differs from other channels: mail without aligned proof is accepted as unverified, unless the author's domain asks for refusal, as alice.test
 * does. Two of the faults do not concern proof, so these mails come unsigned from a domain without a policy.
 */
const plain = { from: 'Bob <bob@nodmarc.test>', sign: false }

protocolContract(emailDescriptor, async ({ watchStore }): Promise<ProtocolDriver> => {
  const gateway = await openMailGateway({ wrapStore: watchStore })
  const composedMails = new Map<string, Promise<ComposedMail>>()

  function compose({ fault, id = 'one', text = 'Hello' }: ProtocolDelivery): Promise<ComposedMail> {
    const key = JSON.stringify([fault, id, text])
    const unprovenSender = fault === 'unsigned' || fault === 'deep' ? plain : {}
    const mail =
      composedMails.get(key) ??
      gateway.simulation.mail.compose({
        to: `echo@${mailDomain}`,
        messageId: `${id}@alice.test`,
        text,
        fault,
        ...unprovenSender,
      })
    composedMails.set(key, mail)
    return mail
  }

  async function deliverOnce({ octets, envelope, ip, helo }: ComposedMail) {
    const { status, body } = await gateway.post(octets, { ...envelope, ip, helo })
    return { accepted: status === 200, answer: status, code: body.code as RejectionCode | undefined }
  }

  return {
    store: gateway.store,
    async deliver(delivery = {}) {
      const mail = await compose(delivery)
      if (delivery.fault === 'replayed') await deliverOnce(mail)
      return deliverOnce(mail)
    },
    expected: {
      unsigned: 'unverified',
      tampered: 'forbidden',
      forged: 'forbidden',
      expired: 'forbidden',
      wrong_owner: 'forbidden',
      deep: 'kept',
    },
    secrets: () => [mailIntakeSecret],
    close: gateway.close,
  }
})
