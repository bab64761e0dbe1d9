// Searches a store's file for a word.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Lists the tables in a store's SQLite file that contain a word. */
export function listTraces(dataDir: string, word: string): readonly string[] {
  const db = new DatabaseSync(join(dataDir, 'postern.db'), { readOnly: true })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all()
  const text = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString() : String(value))
  const traces = tables.flatMap(({ name }) => {
    const rows = db.prepare(`SELECT * FROM "${name}"`).all()
    return rows.some(row => Object.values(row).some(value => text(value).includes(word))) ? [String(name)] : []
  })
  db.close()
  return traces
}
