// Deletes totals that have become zero.
/**
 * Returns a DELETE of all shards of one owner if they add up to zero. Use it only in operations that run while nobody else writes, because
 * another gateway may be about to change its shard.
 */
export function endZeroTotals(table: string, columns: readonly string[]): string {
  const isNonZero = columns.map(column => `sum(${column}) <> 0`).join(' OR ')
  return `DELETE FROM ${table} WHERE owner = ?1
    AND NOT EXISTS (SELECT 1 FROM ${table} WHERE owner = ?1 GROUP BY owner HAVING ${isNonZero})`
}
