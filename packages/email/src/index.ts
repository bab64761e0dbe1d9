export { endlessBudgets } from './config/answers.ts'
export { emailConfigSchema } from './config.ts'
export { emailDescriptor } from './speaker.ts'

import type { ByteBudget, Channel, ChannelContext, Inbound, ReplayMoment } from '@postern/core'
import { createIntakeSteps, defaultMaxHops, escapeHtml, isoTime, lazy, Rejection, renderUnsent } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import type { Hono } from 'hono'
import { createDeferrals } from './authenticate/deferrals.ts'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { createMailDns, loadDmarc, loadSpf } from './authenticate/verdict.ts'
import { endlessBudgets } from './config/answers.ts'
import type { EmailConfig } from './config.ts'
import { emailConfigSchema, findUnsafeMail } from './config.ts'
import { createCorrespondents } from './correspondents/correspondents.ts'
import { createMailSender, createMailSubmitter } from './deliver.ts'
import { parseKeyRecord } from './dkim/key-record.ts'
import { createDkimSigner, listMailRecords } from './dkim/own-keys.ts'
import { createKeyReader } from './dkim/verify.ts'
import { createMailIntake, restoreEnvelope } from './intake/intake.ts'
import { warmUp } from './intake/warm-up.ts'
import type { AddressTokens } from './mail/addresses.ts'
import { createTokenKey, openAddressReader } from './mail/addresses.ts'
import type { RawMail } from './mail/raw.ts'
import type { MimePool } from './mime/pool.ts'
import { createMimePool } from './mime/pool.ts'
import { createSimpleReader } from './mime/read-mail.ts'
import { addressDirectMessage, addressMailNotice } from './out/direct-message.ts'
import { sendProbe } from './out/probe.ts'
import { liftMailSuppression } from './out/suppression.ts'
import { createMailBackground, previewMailTarget, retargetToAuthor, scopeOfMailbox } from './out/target.ts'
import { createUnsubscribeRoutes } from './out/unsubscribe-routes.ts'
import { createMailIntakeRoutes } from './routes.ts'
import { loadSmtpServer, openSmtpListener } from './smtp/listener.ts'
import { emailDescriptor } from './speaker.ts'
import { createMailInbound, createSignatureReplays } from './verify.ts'

interface EmailDeps {
  /** Threads that were started before; the channel closes them, too. Default: its own, by the limits of its configuration. */
  readonly pool?: MimePool | undefined
}

/** The mail channel: HTTP intake and SMTP or LMTP listener in, signed mail over one smarthost out. */
export function openEmail(config: EmailConfig, gateway: ChannelContext, deps: EmailDeps = {}): Channel<Hono> {
  const { platform, store, agents } = gateway
  const { limits, listen } = config
  const pool = deps.pool ?? createMimePool({ limits, platform })
  const closing = new AbortController()
  const openTokens = createTokenKey(gateway)
  const inbound = openInbound(config, gateway, pool, openTokens)
  const intake = createMailIntake(inbound, gateway)
  return {
    ...openMailOutbound(config, gateway, openTokens),
    replay: createMailReplay(moment => openInbound(config, { ...gateway, ...moment }, pool, openTokens)),
    routes: createMailIntakeRoutes({
      config,
      intake,
      platform: { ...platform, consumeOnce: (key, until) => store.consumeOnce(key, until) },
    }).route('/', createUnsubscribeRoutes({ gateway, openTokens })),
    ...(takesMail(config) && { isAnnounced: true }),
    describeContact: agent => ({ email: `${agent}@${agents.domain}` }),
    renderInvitation: agent => renderInvitation(agent, agents.domain),
    links: agent => [{ rel: 'mailto', href: `mailto:${agent}@${agents.domain}` }],
    ...(listen && {
      listen: former => {
        void warmUp([openAddressReader, loadSpf, loadDmarc, loadSmtpServer], platform, closing.signal)
        return openSmtpListener({
          config: listen.port === 0 && former ? { ...listen, port: former.port } : listen,
          maxBytes: limits.message_bytes,
          bodies: gateway.bodies ?? unboundedBodies,
          sleep: platform.sleep,
          domain: agents.domain,
          intake,
        })
      },
    }),
    close() {
      closing.abort()
      return pool.close()
    },
  }
}

/** For a channel without a gateway around it. */
const unboundedBodies: ByteBudget = { hold: () => ({ add() {}, release() {} }) }

function openInbound(
  config: EmailConfig,
  gateway: ChannelContext,
  pool: MimePool,
  openTokens: () => Promise<AddressTokens>,
): Inbound<RawMail, ProvenMail> {
  const { platform, store } = gateway
  const { limits, trust } = config
  return createMailInbound({
    gateway,
    config,
    limits,
    trust,
    tellsUnreadable: config.encrypted_notice,
    dns: createMailDns(platform, limits),
    readSimple: createSimpleReader({ limits, readKey: createKeyReader(parseKeyRecord) }),
    pool,
    mayDefer: createDeferrals(store, platform, limits.deferral_ms),
    noteSignature: createSignatureReplays(platform),
    meetCorrespondent: createCorrespondents({ store, platform }),
    openAddresses: lazy(openAddressReader),
    openTokens,
    maxHops: gateway.maxHops ?? defaultMaxHops,
  })
}

function renderInvitation(agent: string, domain: string): string {
  const address = escapeHtml(`${agent}@${domain}`)
  return `By email: <a href="mailto:${address}">${address}</a>`
}

/** Something brings mail here. */
function takesMail({ listen, intake, providers }: EmailConfig): boolean {
  return listen !== undefined || intake !== undefined || Object.keys(providers).length > 0
}

/** As the gateway's list has it. */
export const email: ChannelModule<EmailConfig, 'email'> = {
  descriptor: emailDescriptor,
  configSchema: emailConfigSchema,
  open: openEmail,
  findUnsafe: findUnsafeMail,
  openMail: ({ submit }, log) => (submit ? createMailSubmitter(submit, log) : undefined),
  devDefaults: [['email/budgets', endlessBudgets]],
  simulatedDefaults: ({ submit, secret }) => [
    ['email/submit', submit],
    ['email/intake', { secret }],
    ['email/listen', { port: 2525, protocol: 'smtp' }],
  ],
  simulatedSecret: ({ intake }) => intake?.secret,
}

/**
 * The way out: signed mail over one smarthost. There is no `addressAction`, because sent mail cannot be changed or
 * withdrawn. An agent writes only to people who wrote to it, or whom the operator allows (`addressDirectMessage`). The
 * gateway's own messages go by `addressNotice`.
 */
function openMailOutbound(
  config: EmailConfig,
  { admission, platform, store, agents, fileAddress, showRequirement, maxHops = defaultMaxHops }: ChannelContext,
  openTokens: () => Promise<AddressTokens>,
) {
  const { selector } = config.dkim
  const signer = createDkimSigner({ store, domain: agents.domain, selector, clock: platform })
  const rendering = { agents, config, fileAddress, showRequirement, maxHops }
  const delivering = { gateway: { admission, store, platform }, agents, signer, config, openTokens }
  const sender = createMailSender(rendering, delivering)
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
  } satisfies Partial<Channel>
}

/** Reads a stored mail again, with the envelope that it came in. */
function createMailReplay(
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
