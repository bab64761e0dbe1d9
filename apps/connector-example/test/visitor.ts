/** Simulates a visitor's browser, and reads the entries that it shows. */
interface SeenEntry {
  readonly id: string
  readonly kind: string
  readonly by: string
  readonly text: string
  readonly html: string
}

/** A person at a browser: a cookie, and the pages that the person gets. */
export interface Visitor {
  readonly cookie: string
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  postForm(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>
  /** Reads the token of the visitor's forms. */
  formToken(): Promise<string>
  sayInRoom(text: string, room?: string): Promise<number>
  press(requirement: string, decision?: string, room?: string): Promise<number>
  page(room?: string): Promise<string>
  entries(room?: string): Promise<readonly SeenEntry[]>
  /** Lists the answers of agents, newest last. */
  answers(room?: string): Promise<readonly string[]>
  /** Watches the room for new entries until the visitor leaves. */
  watch(room?: string): Promise<AsyncGenerator<SeenEntry, void, undefined>>
}

export async function createVisitor(url: string, name: string): Promise<Visitor> {
  const body = new URLSearchParams({ name })
  const response = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' })
  if (response.status !== 303) throw new Error(`login: ${response.status} ${await response.text()}`)
  const [cookie = ''] = response.headers.get('set-cookie')?.split(';') ?? []

  const get = (path: string, headers = {}) => fetch(url + path, { headers: { cookie, ...headers }, redirect: 'manual' })
  const page = async (room = 'lobby') => (await get(`/rooms/${room}`)).text()
  const formToken = async () => /name="csrf" value="([^"]+)"/.exec(await (await get('/')).text())?.[1] ?? ''

  async function postForm(path: string, fields: Readonly<Record<string, string>>, headers = {}): Promise<Response> {
    const form = new URLSearchParams(fields)
    return fetch(url + path, { method: 'POST', body: form, headers: { cookie, ...headers }, redirect: 'manual' })
  }

  const submit = async (path: string, fields: Readonly<Record<string, string>>) =>
    (await postForm(path, { csrf: await formToken(), ...fields })).status

  return {
    cookie,
    get,
    postForm,
    formToken,
    page,
    sayInRoom: (text, room = 'lobby') => submit(`/rooms/${room}/messages`, { text }),
    press: (requirement, decision = 'grant', room = 'lobby') =>
      submit(`/rooms/${room}/decisions`, { requirement, decision }),
    entries: async room => readEntries(await page(room)),
    async answers(room) {
      const entries = readEntries(await page(room)).filter(({ kind }) => kind.startsWith('agent'))
      return entries.map(({ by, text }) => `${by}: ${text}`)
    },
    async watch(room = 'lobby') {
      const [, path = ''] = /data-events="([^"]+)"/.exec(await page(room)) ?? []
      const { body: stream } = await get(path)
      // The iterator is created at once, because a fetch cancels the body of an answer that nobody references or reads.
      return readStream(stream?.values())
    },
  }
}

async function* readStream(stream: AsyncIterable<Uint8Array> | undefined): AsyncGenerator<SeenEntry, void, undefined> {
  const decoder = new TextDecoder()
  let buffered = ''
  for await (const bytes of stream ?? []) {
    const events = (buffered + decoder.decode(bytes, { stream: true })).split('\n\n')
    buffered = events.pop() ?? ''
    for (const event of events) {
      const [, data] = /^data: (.*)$/m.exec(event) ?? []
      if (data) yield* readEntries((JSON.parse(data) as { html: string }).html)
    }
  }
}

const charactersByEntity: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}
const decode = (html: string) =>
  html.replace(/&(?:lt|gt|quot|#39|amp);/g, escaped => charactersByEntity[escaped] ?? escaped)

function readEntries(html: string): readonly SeenEntry[] {
  const pattern = /<li id="(e-[^"]+)" class="([^"]+)">(.*?)<\/li>/gs
  return [...html.matchAll(pattern)].map(([, id = '', kind = '', inner = '']) => ({
    id,
    kind,
    by: decode(/<bdi>(.*?)<\/bdi>/s.exec(inner)?.[1] ?? ''),
    text: decode(/<p class="text" dir="auto">(.*?)<\/p>/s.exec(inner)?.[1] ?? ''),
    html: inner,
  }))
}

/** Finds the token in the form of a requirement that this page lets its reader decide. */
export function requirementIn(html: string): string | undefined {
  return /name="requirement" value="([^"]+)"/.exec(html)?.[1]
}

export async function awaitEntry(
  entries: AsyncGenerator<SeenEntry>,
  matches: (entry: SeenEntry) => boolean,
): Promise<SeenEntry> {
  for (;;) {
    const { value, done } = await entries.next()
    if (done) throw new Error('the stream has ended')
    if (matches(value)) return value
  }
}
