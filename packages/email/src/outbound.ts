import type { Channel, ChannelContext } from '@postern/core'
import { createSender, defaultMaxHops, Rejection, renderUnsent } from '@postern/core'
import type { EmailConfig } from './config.ts'
import { deliverMail } from './deliver.ts'
import { addressMail } from './out/addressing/address.ts'
import { scopeOfMailbox } from './out/addressing/audience.ts'
import { addressDirectMessage } from './out/addressing/direct-message.ts'
import { addressMailNotice } from './out/addressing/notice.ts'
import { previewMailTarget, retargetToAuthor } from './out/addressing/target.ts'
import { createMailBackground } from './out/background.ts'
import { createDkimSigner } from './out/dkim/signer.ts'
import { sendProbe } from './out/probe.ts'
import { listMailRecords } from './out/published-keys.ts'
import { liftMailSuppression } from './out/suppression/lift.ts'
import { describeMail, renderMail } from './render.ts'
import { emailDescriptor } from './speaker.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'

type Outgoing = Pick<
  Channel,
  | 'descriptor'
  | 'address'
  | 'addressDirectMessage'
  | 'prepare'
  | 'preview'
  | 'fetchBackground'
  | 'publishedKeys'
  | 'rotateKeys'
  | 'addressesFiles'
  | 'probe'
  | 'liftSuppression'
  | 'addressNotice'
  | 'privateScope'
  | 'retarget'
>

/**
 * The way out: signed mail over one smarthost. There is no `addressAction`, because sent mail cannot be changed or
 * withdrawn. An agent writes only to people who wrote to it, or whom the operator allows (`addressDirectMessage`). The
 * gateway's own messages go by `addressNotice`.
 */
export function openMailOutbound(
  config: EmailConfig,
  { admission, platform, store, agents, fileAddress, showRequirement, maxHops = defaultMaxHops }: ChannelContext,
  openTokens: () => Promise<AddressTokens>,
): Outgoing {
  const { selector } = config.dkim
  const signer = createDkimSigner({ store, domain: agents.domain, selector, now: () => platform.now() })
  const rendering = { agents, config, fileAddress, showRequirement, maxHops }
  const delivering = { gateway: { admission, store, platform }, agents, signer, config, openTokens }
  const sender = createSender({
    descriptor: emailDescriptor,
    address: answered => addressMail(answered, { agents, maxHops }),
    render: delivery => renderMail(delivery, rendering),
    describe: describeMail,
    deliver: (wire, delivery) => deliverMail(wire, delivery, delivering),
  })
  return {
    ...sender,
    preview: ({ turn, response }) =>
      renderUnsent(sender, { turn: { ...turn, target: previewMailTarget(turn.content) }, response }),
    addressDirectMessage: post => addressDirectMessage(post, { agents, allowed: config.write_to }),
    // Bytes of answers are stored once, under their digest: attached from there, or linked when they are too large.
    addressesFiles: true,
    fetchBackground: createMailBackground({ store, agents, isQuoting: config.quote }),
    publishedKeys: async () => listMailRecords(await signer.publish(), agents.domain),
    addressNotice: action => addressMailNotice(action, agents),
    privateScope: subject => scopeOfMailbox(subject.replace(/^mailto:/, '')),
    retarget: retargetToAuthor,
    probe: () => sendProbe({ platform, agents, signer, openTokens }),
    liftSuppression: (agent, peer) => liftMailSuppression({ agent, peer }, { admission, store, platform, agents }),
    async rotateKeys(agent, options) {
      if (agent !== undefined && !agents.find(agent)) {
        throw new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent')
      }
      // The keys are the domain's: one agent has none of its own.
      return agent === undefined ? signer.rotate(options) : []
    },
  }
}
