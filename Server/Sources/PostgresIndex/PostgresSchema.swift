/// The tables of an index, in the schema `tributary`.
///
/// Names and accounts are bytes of UTF-8: PostgreSQL's texts cannot have all of them.
enum PostgresSchema {
  static let version: Int64 = 1

  /// What makes the tables of each version from those of the one before.
  private static let steps = [
    """
    create table tributary.log (
      log bytea primary key, account bytea not null, owner bytea not null, name bytea not null,
      head bigint not null, chain bytea not null, fate bigint, seal bigint not null,
      floor bigint, floor_hash bytea, floor_chain bytea, floor_maker bytea, floor_has_entry bigint
    ) with (fillfactor = 50);
    create unique index log_open on tributary.log (account, owner, name) where fate is null;
    create table tributary.place (remote bytea not null, made bigint not null);
    create table tributary.list (
      account bytea primary key, remote bytea not null, events bigint not null, hash bytea not null
    ) with (fillfactor = 50);
    create table tributary.event (
      account bytea not null, "offset" bigint not null, event bytea not null, primary key (account, "offset")
    );
    create table tributary.entry (
      log bytea not null, "offset" bigint not null, received bigint, chain bytea, bytes bytea not null,
      primary key (log, "offset")
    ) partition by hash (log);
    create table tributary.lane (
      log bytea not null, replica bytea not null, epoch bigint not null, last bigint not null,
      "offset" bigint not null, primary key (log, replica, epoch, last)
    );
    do $$ begin
      for number in 0..63 loop
        execute format(
          'create table tributary.entry_%s partition of tributary.entry for values with (modulus 64, remainder %s)',
          number, number);
        execute format('alter table tributary.entry_%s alter column bytes set storage external', number);
      end loop;
    end $$
    """
  ]

  /// Makes the tables that are missing. Of several servers that start at one time, one does it.
  ///
  /// - Returns: the version that the tables have now, which may be newer.
  static func make(_ connection: PostgresConnection) throws(PostgresError) -> Int64 {
    // Who may not make a schema can use one that is there.
    if try connection.query("select 1 where to_regclass('tributary.meta') is not null").count == 1 {
      let known = try connection.query("select max(version) from tributary.meta").number(0, 0) ?? 0
      if known >= version { return known }
    }
    try connection.run("begin; set local lock_timeout = 0; set local statement_timeout = 0")
    try connection.query("select pg_advisory_xact_lock(7311420231)")
    try connection.run(
      """
      create schema if not exists tributary;
      create table if not exists tributary.meta (version bigint not null)
      """)
    var known = try connection.query("select max(version) from tributary.meta").number(0, 0) ?? 0
    while known < version {
      try connection.run(steps[Int(known)])
      known += 1
      try connection.query("insert into tributary.meta values ($1::bigint)", [.number(known)])
    }
    try connection.commit()
    return known
  }
}
