import { handleHostOf } from '../../config/handle-host.ts'
import { judgeMailRows } from '../../resolve/rows/mail.ts'
import type { ResolveFinding } from '../../resolve/rows/row.ts'
import type { MailView } from '../../resolve/view/mail.ts'
import { lookAtMail } from '../../resolve/view/mail.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'

const noMail = 'mail neither comes nor goes: "email" names no listener, webhook or smarthost'

export function takesMail({ email }: DoctorDeps['config']): boolean {
  return email.listen !== undefined || email.intake !== undefined || Object.keys(email.providers).length > 0
}

function hasMail(config: DoctorDeps['config']): boolean {
  return takesMail(config) || config.email.submit !== undefined
}

/** Several checks of one run ask for it. */
const known = new WeakMap<DoctorDeps, Promise<MailView | undefined>>()

/** What DNS says of the mail of our domain. */
export function lookAtOwnMail(deps: DoctorDeps): Promise<MailView | undefined> {
  const domain = handleHostOf(deps.config)
  const { fetch, resolveDns } = deps.outside
  const platform = deps.gateway?.openResolvePlatform() ?? { fetch, resolveDns, now: deps.now }
  const view =
    known.get(deps) ??
    lookAtMail({ local: 'postmaster', domain }, `mailto:postmaster@${domain}`, { ...platform, resolveDns })
  known.set(deps, view)
  return view
}

/** A row of `postern resolve`, for our own domain. */
export async function checkMailRow(deps: DoctorDeps, row: string): Promise<CheckOutcome> {
  const domain = handleHostOf(deps.config)
  if (!hasMail(deps.config)) return skip(domain, noMail)
  const mail = await lookAtOwnMail(deps)
  const findings: readonly ResolveFinding[] = mail ? judgeMailRows({ local: 'postmaster', domain }, mail) : []
  const found = findings.find(({ id }) => id === row)
  return found ? about(domain, found) : skip(domain, 'nothing is known of its mail')
}

/** The host that mail goes to first; undefined where there is none. */
export async function findMailHost(deps: DoctorDeps): Promise<string | undefined> {
  const records = (await lookAtOwnMail(deps))?.mx ?? []
  const [best] = records.toSorted((left, right) => left.priority - right.priority)
  return best && best.exchange !== '' && best.exchange !== '.' ? best.exchange : undefined
}
