// Joins the outbound parts of the channel: replies, direct messages, notices and keys.

import { defaultMaxHops, Rejection } from '@postern/message'
import type { Channel, ChannelContext } from '@postern/pipeline'
import { renderUnsent } from '@postern/pipeline'
import type { EmailConfig } from './config.ts'
import { createMailSender } from './deliver.ts'
import { addressMail } from './outgoing/address-mail.ts'
import { createMailBackground } from './outgoing/background.ts'
import { sendProbe } from './outgoing/probe.ts'
import { liftMailSuppression } from './outgoing/suppression.ts'
import { previewMailTarget, retargetToAuthor } from './outgoing/target.ts'
import { scopeOfMailbox } from './outgoing/thread-scope.ts'
import { listMailRecords } from './signing/dns-records.ts'
import { createDkimSigner } from './signing/signer.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'
import { addressDirectMessage, addressMailNotice } from './unasked/direct-message.ts'
import { createCorrespondentFinder, refuseMailReply } from './unasked/unasked-rules.ts'

/**
 * Opens the outbound side. Its `actions` have no `address`, because sent mail cannot be changed or withdrawn. An agent writes
 * only to people who wrote to it, or whom the operator allows (`addressDirectMessage`). The gateway's own messages go
 * by `addressNotice`.
 */
export function openMailOutbound(
  config: EmailConfig,
  { admission, system, store, agents, fileAddress, showRequirement, maxHops = defaultMaxHops }: ChannelContext,
  openTokens: () => Promise<AddressTokens>,
) {
  const { selector } = config.dkim
  const signer = createDkimSigner({ store, domain: agents.domain, selector, clock: system })
  const renderDeps = { agents, config, fileAddress, showRequirement, maxHops }
  const deliverDeps = { gateway: { admission, store, system }, agents, signer, config, openTokens }
  const sender = createMailSender(renderDeps, deliverDeps)
  const findCorrespondents = createCorrespondentFinder(config, { store, system })
  return {
    ...sender,
    actions: {
      addressDirectMessage: (post, correspondents) =>
        addressDirectMessage(post, { agents, unasked: config, correspondents }),
      ...(findCorrespondents && { findCorrespondents }),
      addressNotice: action => addressMailNotice(action, agents),
      addressReply: async turn => refuseMailReply(turn, config, system.now()) ?? addressMail(turn, agents, maxHops),
    },
    conversations: {
      fetchBackground: createMailBackground({ store, agents, quotesMessages: config.quote }),
      privateScope: subject => scopeOfMailbox(subject.replace(/^mailto:/, '')),
      retarget: retargetToAuthor,
    },
    peers: {
      liftSuppression: (agent, peer) => liftMailSuppression({ agent, peer }, { admission, store, system, agents }),
    },
    diagnostics: {
      preview: ({ turn, response }) =>
        renderUnsent(sender, { turn: { ...turn, target: previewMailTarget(turn.content) }, response }),
      probe: () => sendProbe({ system, agents, signer, openTokens }),
    },
    keys: {
      list: async () => listMailRecords(await signer.publish(), agents.domain),
      async rotate(agent, options) {
        if (agent !== undefined && !agents.find(agent)) {
          throw new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent')
        }
        // The keys belong to the domain, and one agent has none of its own.
        return agent === undefined ? signer.rotate(options) : []
      },
    },
  } satisfies Partial<Channel>
}
