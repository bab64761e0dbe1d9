// Checks work that is stuck: dead letters, overdue work, silent hosts and suppressions.
import { isoTime } from '@postern/message'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Check } from '../check.ts'
import { outcomeFor } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

export const workChecks: readonly Check[] = [
  {
    id: 'work.dead_letters',
    description: 'The gateway has given up no delivery.',
    fix: 'See `postern deliveries list --state dead`, then retry or dismiss each.',
    needs: ['gateway'],
    run: async deps => outcomeFor('deliveries', await judgeDeadLetters(deps)),
  },
  {
    id: 'work.overdue',
    description: 'No due turn or delivery waits without a worker.',
    fix: 'Look into the log of the gateway, and start more gateways where there is too much to do.',
    needs: ['gateway', 'running'],
    run: async deps => outcomeFor('queue', await judgeOverdue(deps)),
  },
  {
    id: 'work.hosts',
    description: 'The circuit breaker of no host is open.',
    fix: 'The gateway tries again by itself; retry a delivery to try it at once.',
    needs: ['gateway', 'running'],
    run(deps) {
      const hosts = requireOpened(deps).listPausedHosts()
      if (hosts.length === 0) return outcomeFor('hosts', ok('every host answers'))
      const fix = 'It is tried again then; "postern deliveries retry <id>" tries it at once.'
      return hosts.slice(0, 20).map(({ host, reason, until }) => {
        return outcomeFor(host, warning(`the gateway sends nothing to ${host} until ${isoTime(until)}: ${reason}`, fix))
      })
    },
  },
  {
    id: 'work.suppressions',
    description: 'No address has a suppression because mail to it bounced.',
    fix: 'Correct the address; `postern suppressions lift` sends to it again.',
    needs: ['gateway'],
    run: async deps => outcomeFor('suppressions', await judgeSuppressions(deps)),
  },
]

/** The maximum number of suppressions to count for each agent. */
const maxCountedRows = 500

async function judgeDeadLetters(deps: DoctorDeps): Promise<Verdict> {
  const { deliveries } = await requireOpened(deps).store.count()
  return deliveries.dead === 0
    ? ok('no dead letters')
    : warning(
        deliveries.dead === 1 ? 'one dead letter' : `${deliveries.dead} dead letters`,
        'See "postern deliveries list --state dead"; then retry or dismiss each.',
      )
}

const [lateMs, veryLateMs] = [60_000, 600_000]

async function judgeOverdue(deps: DoctorDeps): Promise<Verdict> {
  const dueAt = await requireOpened(deps).store.findNextDueAt()
  const waitedMs = dueAt === undefined ? 0 : Math.max(0, deps.now() - dueAt)
  if (waitedMs < lateMs) return ok('workers take work as it comes')
  const judge = waitedMs > veryLateMs ? failure : warning
  const observation = `the oldest work waits for ${Math.round(waitedMs / 1000)} s, and no worker has taken it`
  return judge(observation, 'Look into the log of the gateway, and start more gateways where there is too much to do.')
}

async function judgeSuppressions(deps: DoctorDeps): Promise<Verdict> {
  const { channels, store, agents } = requireOpened(deps)
  const vias = channels.filter(({ peers }) => peers?.liftSuppression).map(({ descriptor }) => descriptor.name)
  const lists = vias.flatMap(via =>
    agents
      .list()
      .map(({ name }) => store.listRelations({ via, agent: name, relation: 'suppressed', limit: maxCountedRows })),
  )
  const count = (await Promise.all(lists)).flat().length
  return count === 0
    ? ok('no address is suppressed')
    : warning(
        `the gateway sends nothing to ${count} ${count === 1 ? 'address' : 'addresses'} that bounced`,
        'See "postern suppressions"; "postern suppressions lift" sends to one again.',
      )
}
