import type { Channel, House, Inbound } from '@postern/core'
import { createSender } from '@postern/core'
import type { Hono } from 'hono'
import type { AddressReader } from './addresses.ts'
import { openAddressReader } from './addresses.ts'
import { createMailDns } from './authenticate/mail-dns.ts'
import { createSignatureReplays } from './authenticate/replays.ts'
import type { EmailConfig } from './config.ts'
import { createDeferrals } from './deferral.ts'
import { deliverMail } from './deliver.ts'
import { createDkimSigner } from './dkim-sign.ts'
import { createMailIntake } from './intake.ts'
import type { ProvenMail, RawMail } from './mail.ts'
import { createMimePool } from './mime-pool.ts'
import { normalizeMail } from './normalize.ts'
import { listMailRecords } from './published-keys.ts'
import { addressMail, describeMail, renderMail } from './render.ts'
import { createMailRoutes } from './routes.ts'
import { openSmtpListener } from './smtp-listener.ts'
import { verifyMail } from './verify.ts'

export * from './config.ts'

/** The mail door: HTTP intake and SMTP or LMTP listener in, signed mail over one smarthost out. */
export function openEmail(config: EmailConfig, house: House): Channel<Hono> {
  const { world, desk, agents } = house
  const { limits, listen } = config
  const pool = createMimePool({ limits, world })
  const signer = createDkimSigner({ desk, domain: agents.domain, selector: config.dkim.selector })
  const inbound = openInbound(config, house, pool)
  const intake = createMailIntake(inbound, house)
  return {
    ...createSender({
      name: 'email',
      address: answered => addressMail(answered, agents),
      render: delivery => renderMail(delivery, agents),
      describe: describeMail,
      deliver: wire => deliverMail(wire, { house, signer }),
    }),
    routes: createMailRoutes({ config, intake, world }),
    links: agent => [{ rel: 'mailto', href: `mailto:${agent}@${agents.domain}` }],
    publishedKeys: async () => listMailRecords(await signer.publish(), agents.domain),
    ...(listen && {
      listen: () =>
        openSmtpListener({
          config: listen,
          maxBytes: limits.message_bytes,
          maxHeld: limits.held_bytes,
          sleep: world.sleep,
          domain: agents.domain,
          checkRecipient: intake.checkRecipient,
          recordRefusal: intake.recordRefusal,
          take: async (octets, envelope) => void (await intake.take(octets, envelope, envelope.ip ?? '')),
          takeEach: (octets, envelope) => intake.takeEach(octets, envelope, envelope.ip ?? ''),
        }),
    }),
    close: () => pool.close(),
  }
}

function openInbound(
  config: EmailConfig,
  house: House,
  pool: ReturnType<typeof createMimePool>,
): Inbound<RawMail, ProvenMail> {
  const { world, agents } = house
  const { limits, trust, answer_unaddressed: answersUnaddressed } = config
  const dns = createMailDns(world, limits)
  const deferrals = createDeferrals(() => world.now(), limits.deferral_ms)
  const replays = createSignatureReplays(world)
  let addresses: Promise<AddressReader> | undefined
  const openAddresses = () => {
    addresses ??= openAddressReader()
    return addresses
  }
  return {
    name: 'email',
    verify: raw => verifyMail(raw, { house, limits, trust, dns, pool, deferrals, replays, openAddresses }),
    normalize: mail => normalizeMail(mail, { agents, answersUnaddressed }),
  }
}
