// Shows deliveries that wait or have failed, by host, and the addresses that get no mail.
import { formatCount } from '../lib/format.js'
import { html } from '../lib/html.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { Empty, Loading, Problem } from '../parts/empty.js'
import { DeadLetters } from './deliveries/dead-letters.js'
import { Hosts } from './deliveries/hosts.js'
import { Suppressions } from './deliveries/suppressions.js'

const topics = ['delivery']
const maxRows = 500
/** The least time between two loads, ms, because many deliveries can end within a second. */
const minReloadMs = 500

/** Shows the pending deliveries by host, the failed ones, and the addresses that no longer get mail. */
export function Deliveries() {
  const hosts = useAnswer('/operator/api/hosts', topics, minReloadMs)
  const later = useAnswer(`/operator/api/deliveries?state=later&limit=${maxRows}`, topics, minReloadMs)
  const queued = useAnswer(`/operator/api/deliveries?state=queued&limit=${maxRows}`, topics, minReloadMs)
  const dead = useAnswer(`/operator/api/deliveries?state=dead&limit=${maxRows}`, topics, minReloadMs)
  const sources = [hosts, later, queued, dead]
  const waiting = [...(readRows(later.answer, 'deliveries') ?? []), ...(readRows(queued.answer, 'deliveries') ?? [])]
  const deadLetters = readRows(dead.answer, 'deliveries') ?? []
  const listedHosts = /** @type {readonly any[]} */ (hosts.answer?.hosts ?? [])
  const count = listedHosts.reduce((sum, { deliveries }) => sum + deliveries, 0)
  const error = sources.find(each => each.error)?.error
  const isLoaded = sources.every(({ answer }) => answer)
  const refresh = () => {
    for (const each of sources) each.refresh()
  }
  return html`
    <header class="bar">
      <h1>Deliveries</h1>
      <span class="muted">${isLoaded && `${formatCount(count, 'delivery', 'deliveries')} waiting, ${deadLetters.length}${dead.answer.next === null ? '' : '+'} dead`}</span>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} retry=${refresh} />
        ${!isLoaded && !error && html`<${Loading} />`}
        ${isLoaded && deadLetters.length > 0 && html`<${DeadLetters} deliveries=${deadLetters} hasMore=${dead.answer.next !== null} refresh=${refresh} />`}
        ${isLoaded && html`<${Hosts} hosts=${listedHosts} deliveries=${waiting} refresh=${refresh} />`}
        ${
          isLoaded &&
          listedHosts.length + deadLetters.length === 0 &&
          html`<${Empty} title="Everything is delivered">
            <p>What a host refuses or cannot take now waits here, with its next attempt. What was given up can be tried again.</p>
          <//>`
        }
        <${Suppressions} />
      </div>
    </div>
  `
}
