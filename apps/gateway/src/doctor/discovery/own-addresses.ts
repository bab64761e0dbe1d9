import type { ResolvedAddress } from '../../resolve/resolve-address.ts'
import { resolveAddress } from '../../resolve/resolve-address.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

/** Each takes a dozen requests. */
const mostAddresses = 50
const atOnce = 4

interface OwnAddresses {
  readonly resolved: readonly ResolvedAddress[]
  readonly leftOut: number
}

/** Several checks of one run ask for them. */
const known = new WeakMap<DoctorDeps, Promise<OwnAddresses>>()

/** What `postern resolve` finds for these rows, at each of our addresses. `prefixes`: as the ids of rows begin. */
export async function checkOwnAddresses(
  deps: DoctorDeps,
  prefixes: readonly string[],
): Promise<readonly CheckOutcome[]> {
  const asked = known.get(deps) ?? resolveAll(deps)
  known.set(deps, asked)
  const { resolved, leftOut } = await asked
  const outcomes = resolved.flatMap(each => judgeAddress(each, prefixes))
  return leftOut > 0 ? [...outcomes, skip('', `${leftOut} more addresses were not looked at`)] : outcomes
}

async function resolveAll(deps: DoctorDeps): Promise<OwnAddresses> {
  const { agents, openResolvePlatform } = requireOpened(deps)
  const platform = openResolvePlatform()
  const names = agents.list().map(({ name }) => name)
  const left = names.slice(0, mostAddresses).map(name => `@${name}@${agents.domain}`)
  const resolved: ResolvedAddress[] = []
  while (left.length > 0)
    resolved.push(...(await Promise.all(left.splice(0, atOnce).map(each => resolveAddress(each, platform)))))
  return { resolved, leftOut: Math.max(0, names.length - mostAddresses) }
}

function judgeAddress(
  { asked, address = asked, findings }: ResolvedAddress,
  prefixes: readonly string[],
): readonly CheckOutcome[] {
  const found = findings.filter(({ id }) => prefixes.some(prefix => id.startsWith(prefix)))
  if (found.length === 0) return [skip(address, 'nothing leads there; see discovery.webfinger')]
  const faulty = found.filter(({ severity }) => severity !== 'ok')
  return faulty.length > 0
    ? faulty.map(finding => about(address, finding))
    : [
        {
          subject: address,
          verdict: 'ok',
          message: `${found.length === 1 ? 'it is' : `all ${found.length} points are`} as peers expect`,
        },
      ]
}
