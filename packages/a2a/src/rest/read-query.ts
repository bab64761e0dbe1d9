/** Parameters of a query that are not strings (A2A §11.5). */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  historyLength: readInteger,
  pageSize: readInteger,
  includeArtifacts: text => ({ true: true, false: false })[text] ?? text,
}

/** Parameters of the path and the version are no parameters of an operation. */
const passedOver = 'a2a-version'

/** The query as parameters. Unreadable values stay strings, and the validator names them. If a name occurs twice, the last one counts. */
export function readQueryParams(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const params: [string, unknown][] = []
  for (const [name, text] of query) {
    if (name.toLowerCase() !== passedOver) params.push([name, readParam(name, text)])
  }
  return Object.fromEntries(params)
}

function readParam(name: string, text: string): unknown {
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined
  return read ? read(text) : text
}

function readInteger(text: string): unknown {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text
}
