// Lists the checks of mail: receiving, sending, DNS records and Postfix.
import type { Check } from '../check.ts'
import { outcomeFor, skip } from '../check.ts'
import { judgeSecret } from '../checks/configuration.ts'
import type { DoctorDeps } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'
import { checkMailRow, checkMtaSts, checkPtr, checkTlsReports } from './domain.ts'
import { checkForwardedMailbox } from './forwarded-mailbox.ts'
import { checkMailLoop } from './loop.ts'
import type { PostfixSettings } from './postfix.ts'
import { judgeBareNewline, judgeSizes, judgeXforward, readPostfixSettings } from './postfix.ts'
import {
  checkListener,
  checkMailHost,
  checkRelay,
  checkSmarthost,
  checkSmarthostTls,
  locateSmarthost,
} from './servers.ts'
import { talkToMailServer } from './smtp-session.ts'

export const mailChecks: readonly Check[] = [
  {
    id: 'mail.smarthost',
    description: 'The smarthost, which takes what agents send, greets us.',
    fix: 'Set `email.submit`, or start the mail server there.',
    run: checkSmarthost,
  },
  {
    id: 'mail.smarthost_tls',
    description: 'A smarthost on another machine speaks TLS, with a certificate that holds.',
    fix: 'Use port 465 with `secure`, or port 587 with STARTTLS.',
    run: checkSmarthostTls,
  },
  {
    id: 'mail.listener',
    description: 'Mail can come in: the listener greets (SMTP or LMTP), or it comes by HTTP.',
    fix: 'Set `email.listen`, `email.intake.secret` or a provider.',
    run: checkListener,
  },
  {
    id: 'mail.relay',
    description:
      'Neither the listener nor the host of the MX record takes mail to others from strangers. The check sends no mail.',
    fix: 'Let the mail server take mail to your domains only.',
    run: checkRelay,
  },
  {
    id: 'mail.secret',
    description: 'Nobody can guess the secret of `POST /email/inbound`.',
    fix: 'Set `email.intake.secret` to 24 or more random characters.',
    run: checkSecret,
  },
  {
    id: 'mail.forwarded',
    description: 'Agents get the mail of a mailbox that forwards to them.',
    fix: 'Set `email.answer_bcc` to `true`.',
    needs: ['gateway'],
    run: checkForwardedMailbox,
  },
  {
    id: 'mail.sizes',
    description: 'Gateway, Postfix and smarthost take mail of the same size.',
    fix: 'Make `email.limits.message_bytes` and `message_size_limit` of Postfix the same.',
    run: checkSizes,
  },
  {
    id: 'mail.postfix_smuggling',
    description: 'A Postfix in front refuses smuggled mail (bare line feeds).',
    fix: 'Run `postconf -e smtpd_forbid_bare_newline=normalize smtpd_forbid_bare_newline_exclusions=`.',
    run: deps => checkPostfix(deps, judgeBareNewline),
  },
  {
    id: 'mail.postfix_xforward',
    description: 'A Postfix in front tells the gateway which client sent a mail (XFORWARD), as SPF needs.',
    fix: 'Run `postconf -e lmtp_send_xforward_command=yes`, and name Postfix in `email.listen.trusted_peers`.',
    run: deps => checkPostfix(deps, settings => judgeXforward(settings, deps.config.email)),
  },
  {
    id: 'mail.mx',
    description: 'The domain has an MX record, so that mail and bounces arrive.',
    fix: 'Publish an MX record that names the mail server in front of the gateway.',
    needs: ['outside'],
    run: deps => checkMailRow(deps, 'mail.mx'),
  },
  {
    id: 'mail.mx_host',
    description: 'The host of the MX record answers on port 25 and offers STARTTLS.',
    fix: 'Start the mail server there, with a certificate.',
    needs: ['outside'],
    run: checkMailHost,
  },
  {
    id: 'mail.spf',
    description: 'The domain has one SPF record (RFC 7208), which ends with `-all` or `~all`.',
    fix: 'Publish one TXT record, such as `v=spf1 mx -all`.',
    needs: ['outside'],
    run: deps => checkMailRow(deps, 'mail.spf'),
  },
  {
    id: 'mail.dkim',
    description: 'DNS has every DKIM key that signs (RFC 6376).',
    fix: 'Publish what `postern keys` prints.',
    needs: ['gateway', 'outside'],
    run: deps => checkMailRow(deps, 'mail.dkim'),
  },
  {
    id: 'mail.dmarc',
    description: 'The domain has one DMARC record, with the policy `reject` or `quarantine`.',
    fix: 'Publish a TXT record for `_dmarc`: `v=DMARC1; p=reject; adkim=s; aspf=r`.',
    needs: ['outside'],
    run: deps => checkMailRow(deps, 'mail.dmarc'),
  },
  {
    id: 'mail.mta_sts',
    description: 'A domain with MTA-STS (RFC 8461) has a policy that names every mail host.',
    fix: 'Serve the policy at `https://mta-sts.DOMAIN/.well-known/mta-sts.txt`.',
    needs: ['outside'],
    run: checkMtaSts,
  },
  {
    id: 'mail.tls_reports',
    description: 'A domain with MTA-STS has an address for TLS reports (RFC 8460).',
    fix: 'Publish a TXT record for `_smtp._tls`.',
    needs: ['outside'],
    run: checkTlsReports,
  },
  {
    id: 'mail.ptr',
    description: 'The address of the mail host has a name (PTR record).',
    fix: 'Let your provider set the PTR record of the address to the name of the mail host.',
    needs: ['outside'],
    run: checkPtr,
  },
  {
    id: 'mail.loop',
    description:
      'A signed mail to ourselves leaves by the smarthost, comes back and counts as proven. No agent gets it.',
    fix: 'Look at the queue of the smarthost, at the MX record and at the DNS records of `postern keys`.',
    needs: ['gateway', 'running', 'outside'],
    timeoutMs: 28_000,
    run: checkMailLoop,
  },
]

function checkSecret({ config }: DoctorDeps): CheckOutcome {
  const subject = 'email.intake.secret'
  const secret = config.email.intake?.secret
  if (secret === undefined) return skip(subject, 'POST /email/inbound is closed')
  return outcomeFor(
    subject,
    judgeSecret(secret, {
      secretName: 'the secret of the intake',
      risk: 'anybody who has it can deliver mail in any name',
    }),
  )
}

async function checkSizes(deps: DoctorDeps): Promise<CheckOutcome> {
  const { email } = deps.config
  const server = locateSmarthost(deps)
  const size =
    server &&
    (await talkToMailServer(server, deps.handleHost, ({ greeting }) => greeting.extensions.get('SIZE')).catch(
      () => undefined,
    ))
  const sizes = {
    smarthostMaxBytes: Number(size) || undefined,
    settings: email.listen && (await readPostfixSettings()),
  }
  return outcomeFor('sizes', judgeSizes(sizes, email))
}

async function checkPostfix(
  { config }: DoctorDeps,
  judge: (settings: PostfixSettings) => ReturnType<typeof judgeBareNewline>,
): Promise<CheckOutcome> {
  if (!config.email.listen) return skip('Postfix', 'no mail server hands mail to the gateway')
  const settings = await readPostfixSettings()
  return settings ? outcomeFor('Postfix', judge(settings)) : skip('Postfix', 'there is no Postfix on this machine')
}
