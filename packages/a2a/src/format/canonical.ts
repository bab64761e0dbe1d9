/** JSON with sorted members: one text for one value, whatever the writer. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${toCanonicalJson((value as Readonly<Record<string, unknown>>)[name])}`)
  return `{${members.join(',')}}`
}
