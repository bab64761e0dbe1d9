// Shows the configuration of the gateway, its keys and its API.
import { useSignal } from '../../vendor/signals.js'
import { api } from '../lib/api.js'
import { formatInstant } from '../lib/format.js'
import { html } from '../lib/html.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { Badge, Channel } from '../parts/badges.js'
import { Copy } from '../parts/copy.js'
import { Confirm } from '../parts/dialog.js'
import { Problem } from '../parts/empty.js'
import { Tabs } from '../parts/tabs.js'
import { attempt } from '../parts/toast.js'

/** Shows the values of the configuration with their sources, the keys, and the API. */
export function Settings() {
  const tabs = [
    { name: 'configuration', view: () => html`<${Configuration} />` },
    { name: 'keys', view: () => html`<${Keys} />` },
    { name: 'API', view: () => html`<${ApiReference} />` },
  ]
  return html`
    <header class="bar"><h1>Settings</h1></header>
    <div class="scroll"><div class="page"><${Tabs} label="Settings" tabs=${tabs} /></div></div>
  `
}

/** The kinds of badges, by the source of a value. */
const badgeKindBySource = /** @type {Record<string, string>} */ ({
  file: 'good',
  environment: 'wait',
  dev: 'warn',
  default: 'muted',
})

/** Shows the values of the configuration with their sources, and filters them. */
function Configuration() {
  const { answer, error } = useAnswer('/operator/api/settings')
  const filterText = useSignal('')
  const showsDefaults = useSignal(false)
  const settings = (readRows(answer, 'settings') ?? []).filter(
    ({ key, source }) =>
      key.includes(filterText.value.trim()) && (showsDefaults.value || filterText.value !== '' || source !== 'default'),
  )
  return html`<div class="stack">
    <${Problem} error=${error} />
    <div class="line">
      <input id="search" class="grow" type="text" aria-label="Filter settings" placeholder="listen, web.auth, limits …" value=${filterText.value} onInput=${(/** @type {any} */ event) => (filterText.value = event.target.value)} />
      <label class="choice"><input type="checkbox" checked=${showsDefaults.value} onChange=${() => (showsDefaults.value = !showsDefaults.value)} />with defaults</label>
    </div>
    <div class="panel wide" tabindex="0" role="region" aria-label="Values">
      <table class="stacked">
        <thead><tr><th>key</th><th>value</th><th class="tight">source</th></tr></thead>
        <tbody>
          ${settings.map(
            ({ key, value, source }) =>
              html`<tr key=${key}><td><code>${key}</code></td><td class="long"><code>${JSON.stringify(value)}</code></td><td class="tight"><${Badge} kind=${badgeKindBySource[source] ?? 'muted'}>${source}<//></td></tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="muted">Change the file, or set the variable <code>POSTERN_…</code> of a value. Secrets are shown as <code>(set)</code>.</p>
  </div>`
}

/** Shows the public keys, and rotates or revokes all of them. */
function Keys() {
  const { answer, error, refresh } = useAnswer('/operator/api/keys')
  const pendingRotation = useSignal(/** @type {{ revoke: boolean } | undefined} */ (undefined))
  const keys = readRows(answer, 'keys') ?? []
  const rotate = () =>
    attempt(
      () =>
        api('/operator/api/keys/rotate', {
          method: 'POST',
          body: { revoke: pendingRotation.value?.revoke ?? false },
        }).then(refresh),
      'There are new keys. Publish the records under Go live.',
    )
  return html`<div class="stack">
    <${Problem} error=${error} />
    <div class="line">
      <button class="btn" type="button" onClick=${() => (pendingRotation.value = { revoke: false })}>Rotate all</button>
      <button class="btn danger" type="button" onClick=${() => (pendingRotation.value = { revoke: true })}>Somebody has a key: revoke</button>
    </div>
    <section class="panel" aria-label="Public keys">
      ${keys.map(
        ({ via, purpose, id, algorithm, publicKey, madeAt }) => html`<div class="item" key=${`${via} ${id} ${purpose}`}>
          <${Channel} name=${via} />
          <div class="grow"><div>${purpose}</div><code class="muted">${id}</code><div class="faint">${[algorithm, madeAt && formatInstant(madeAt)].filter(Boolean).join(' · ')}</div></div>
          ${publicKey && html`<${Copy} text=${publicKey} what="public key" />`}
        </div>`,
      )}
    </section>
    ${
      pendingRotation.value &&
      html`<${Confirm}
        title=${pendingRotation.value.revoke ? 'Revoke all keys?' : 'Make new keys?'}
        text=${
          pendingRotation.value.revoke
            ? 'The old keys are taken back at once. Until peers have seen the new ones, and DNS has them, some of them refuse what we send.'
            : 'The old keys stay published for a while, so that nothing that is on its way fails.'
        }
        act=${pendingRotation.value.revoke ? 'Revoke' : 'Rotate'}
        danger=${pendingRotation.value.revoke}
        close=${() => (pendingRotation.value = undefined)}
        run=${rotate}
      />`
    }
  </div>`
}

/** Lists the operations of the operator's API. */
function ApiReference() {
  const { answer, error } = useAnswer('/operator/api/openapi.json')
  const operations = Object.entries(answer?.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(/** @type {Record<string, any>} */ (methods)).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      ...operation,
    })),
  )
  return html`<div class="stack">
    <${Problem} error=${error} />
    <p class="muted">Programs can do everything here, too, with the operator token. <a class="link" href="/operator/api/openapi.json" target="_blank" rel="noopener">OpenAPI document</a></p>
    <div class="panel wide" tabindex="0" role="region" aria-label="Operations">
      <table class="stacked">
        <thead><tr><th class="tight">method</th><th>path</th><th>does</th></tr></thead>
        <tbody>
          ${operations.map(({ path, method, summary }) => html`<tr key=${`${method} ${path}`}><td class="tight"><code>${method}</code></td><td><code>${path}</code></td><td class="muted long">${summary}</td></tr>`)}
        </tbody>
      </table>
    </div>
  </div>`
}
