// Shows deliveries that wait or have failed, by host, and the addresses that get no mail.
import { counted } from '../lib/format.js'
import { html } from '../lib/html.js'
import { rowsOf } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { Empty, Loading, Problem } from '../parts/empty.js'
import { DeadLetters } from './deliveries/dead-letters.js'
import { Hosts } from './deliveries/hosts.js'
import { Suppressions } from './deliveries/suppressions.js'

const topics = ['delivery']
const most = 500
/** The least time between two loads, ms, because many deliveries can end within a second. */
const restMs = 500

/** Shows the pending deliveries by host, the failed ones, and the addresses that no longer get mail. */
export function Deliveries() {
  const hosts = useAnswer('/operator/api/hosts', topics, restMs)
  const later = useAnswer(`/operator/api/deliveries?state=later&limit=${most}`, topics, restMs)
  const queued = useAnswer(`/operator/api/deliveries?state=queued&limit=${most}`, topics, restMs)
  const dead = useAnswer(`/operator/api/deliveries?state=dead&limit=${most}`, topics, restMs)
  const all = [hosts, later, queued, dead]
  const waiting = [...(rowsOf(later.answer, 'deliveries') ?? []), ...(rowsOf(queued.answer, 'deliveries') ?? [])]
  const given = rowsOf(dead.answer, 'deliveries') ?? []
  const listed = /** @type {readonly any[]} */ (hosts.answer?.hosts ?? [])
  const count = listed.reduce((sum, { deliveries }) => sum + deliveries, 0)
  const error = all.find(each => each.error)?.error
  const isLoaded = all.every(({ answer }) => answer)
  const refresh = () => {
    for (const each of all) each.refresh()
  }
  return html`
    <header class="bar">
      <h1>Deliveries</h1>
      <span class="muted">${isLoaded && `${counted(count, 'delivery', 'deliveries')} waiting, ${given.length}${dead.answer.next === null ? '' : '+'} dead`}</span>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} retry=${refresh} />
        ${!isLoaded && !error && html`<${Loading} />`}
        ${isLoaded && given.length > 0 && html`<${DeadLetters} deliveries=${given} hasMore=${dead.answer.next !== null} refresh=${refresh} />`}
        ${isLoaded && html`<${Hosts} hosts=${listed} deliveries=${waiting} refresh=${refresh} />`}
        ${
          isLoaded &&
          listed.length + given.length === 0 &&
          html`<${Empty} title="Everything is delivered">
            <p>What a host refuses or cannot take now waits here, with its next attempt. What was given up can be tried again.</p>
          <//>`
        }
        <${Suppressions} />
      </div>
    </div>
  `
}
